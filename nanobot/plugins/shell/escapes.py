"""Words with which a seemingly harmless program runs another one, or writes to any place.

A rule that allows `git *` means git, not the program that `git -c alias.x='!curl ...' x` starts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from nanobot.plugins.shell.commandline import parse

# The form of such words, per program.
_ESCAPES: Mapping[str, re.Pattern[str]] = {
    "git": re.compile(
        r"-c.*|-C.*|-p|--paginate|--config(-env)?\b.*|--exec-path.*|--git-dir.*|--work-tree.*"
        r"|--(upload|receive)-pack.*|--exec.*|--ext-?diff|--extcmd.*|--textconv|-x.*|-O.*"
        r"|--open-files-in-pager.*|--output.*|--template.*|--separate-git-dir.*|ext::.*|fd::.*"
        r"|bisect|config|daemon|difftool|filter-branch|fast-import|hook|instaweb|mergetool"
        r"|send-email|submodule|credential.*|remote-ext|p4|svn|cvs\w*|web--browse"
        r"|update-index|apply|am|archive"
    ),
    "find": re.compile(r"-(exec|ok)(dir)?|-delete|-fprint0?f?|-fls|-files0-from"),
    "fd": re.compile(r"-x|-X|--exec(-batch)?.*"),
    "tar": re.compile(
        r"--checkpoint-action.*|--to-command.*|--use-compress.*|--rsh-command.*|-[a-zA-Z]*[IF].*"
        r"|--(new-volume|info)-script.*|--absolute-names|-[a-zA-Z]*P[a-zA-Z]*"
    ),
    "rsync": re.compile(r"-[a-zA-Z]*e.*|--rsh.*|--rsync-path.*|-M.*|--remote-option.*"),
    "ssh": re.compile(r"-[a-zA-Z]*[oFSLRDJW].*"),
    "scp": re.compile(r"-[a-zA-Z]*[oFSJ].*"),
    "curl": re.compile(
        r"-[a-zA-Z]*[oOKTDcF].*|--(output|remote-name|config|upload|dump|cookie-jar|form|trace"
        r"|etag-save|hsts|libcurl|stderr|next|netrc-file|proto|engine).*|file:.*"
    ),
    "wget": re.compile(
        r"-[a-zA-Z]*[eOPiao].*|--(execute|output|use-askpass|config|input|post-file).*"
    ),
    "sort": re.compile(r"--compress-prog.*|-[a-zA-Z]*[oT].*|--output.*|--files0-from.*"),
    "zip": re.compile(r"-[a-zA-Z]*T.*|--unzip-command.*|--test.*"),
    "man": re.compile(r"-[a-zA-Z]*[PHCM].*|--(pager|html|config-file|manpath).*"),
}


def escapes(command: str, pattern: str) -> bool:
    """Whether a command that matches the pattern does more than it says: words that the pattern
    does not contain itself make its program run others, or write elsewhere.
    """
    line = parse(command)
    call = line.calls[0] if line.calls else None
    # Commands run by ssh run on another machine.
    several = len(set(line.calls)) > 1 and (call is None or call.name != "ssh")
    if call is None or several or line.unclear or line.bombs:
        return True
    escape = _ESCAPES.get(call.name)
    named = set(pattern.split())
    return call.words[0].computed or (
        escape is not None
        and any(
            word.computed or (word.text not in named and escape.fullmatch(word.text))
            for word in call.words[1:]
        )
    )
