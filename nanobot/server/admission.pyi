from nanobot.plugins.common.http.admission import Admission as Admission
from nanobot.plugins.common.http.admission import principal_of as principal_of
