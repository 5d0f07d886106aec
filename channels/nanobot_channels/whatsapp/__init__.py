"""WhatsApp, by the Cloud API of the WhatsApp Business Platform."""

from nanobot_channels.whatsapp.channel import SETUP, WhatsAppChannel, open_channel

__all__ = ["SETUP", "WhatsAppChannel", "open_channel"]
