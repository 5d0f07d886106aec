from nanobot.plugins.kit.quality import check_manifest as check_manifest
from nanobot.plugins.kit.quality import quality_table as quality_table
