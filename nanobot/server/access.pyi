from nanobot.plugins.common.http.access import Access as Access
from nanobot.plugins.common.http.access import Credentials as Credentials
from nanobot.plugins.common.http.access import Principal as Principal
