"""Ends the process that imports it."""

import sys

sys.exit("I am out of here")
