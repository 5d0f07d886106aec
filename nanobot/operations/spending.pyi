from nanobot.plugins.common.models.spending import COST_LIMITED as COST_LIMITED
from nanobot.plugins.common.models.spending import Spending as Spending
from nanobot.plugins.common.models.spending import Spent as Spent
