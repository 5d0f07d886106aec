from nanobot.plugins.common.spending import COST_LIMITED as COST_LIMITED
from nanobot.plugins.common.spending import Spending as Spending
from nanobot.plugins.common.spending import Spent as Spent
