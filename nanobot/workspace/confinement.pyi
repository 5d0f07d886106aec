from nanobot.plugins.common.files.confinement import ConfinedFiles as ConfinedFiles
