from nanobot.plugins.common.views.remarks import Noted as Noted
