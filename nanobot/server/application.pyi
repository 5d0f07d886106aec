from nanobot.plugins.common.http.route import Route as Route
