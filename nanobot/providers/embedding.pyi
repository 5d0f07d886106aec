from nanobot.plugins.common.models.embedding import Embedder as Embedder
