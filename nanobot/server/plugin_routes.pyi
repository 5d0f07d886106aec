from nanobot.plugins.common.http.route_description import Described as Described
