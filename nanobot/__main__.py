"""`python -m nanobot` is the command `nanobot`."""

from nanobot.cli import main

if __name__ == "__main__":
    main()
