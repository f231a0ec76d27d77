"""What Markdown's dialects add to it, and is no text: shortcodes, math, footnotes, JSX, directives."""

import re

from qkv.documents.markdown_inline import KEPT, SINGLE

# Code comes first, so that nothing inside it is masked. All repeats are bounded or possessive.
CODE = (
    r"(?P<code>^[ \t>]*(?P<fence>`{3,}|~{3,})[^\n]*+\n(?:(?![ \t>]*(?P=fence))[^\n]*+\n?)*+(?:[ \t>]*(?P=fence)[^\n]*)?"
    r"|(?<![`\\])(?P<ticks>`+)(?!`)(?:(?!\n\s*\n)[\s\S]){1,1000}?(?<!`)(?P=ticks)(?!`))"
)
KEPT_PATTERNS = (
    r"(?<!\\)\{\{[%<](?:[^{}\n]|\n(?!\n)){0,1000}?[%>]\}\}|(?<!\\)\{\{[^{}\n]{0,500}\}\}|(?<!\\)\{%[^\n]{0,500}?%\}",  # shortcodes
    r"(?<!\\)\$\$[^$]{1,5000}\$\$|(?<![\\$\w])\$(?![\s$])[^$\n]{0,300}(?<![\s\\])\$(?![\d$\w])",  # math
    r"(?<!\\)\[\[[^\[\]\n]{1,300}\]\]",  # links of wikis
)
SINGLE_PATTERNS = (
    r"(?<!\\)\[\^[^\]\s]{1,100}\](?::(?=\s))?",  # footnotes
    r"(?<![\\\w])\[![A-Z]{1,20}\]",  # alerts
    r"(?:(?<=[-*+] )|(?<=\d[.)] ))\[[ xX]\](?= )",  # tasks
    r"(?<![ \t])[ \t]*(?<!\\)\{(?:[#:.][^{}\n]{0,200}|/\*[^\n]{0,200}?\*/)\}[ \t]*$",  # anchors and attributes
    r"^[ \t>]*:::[^\n]*$",  # directives
)
EXPRESSIONS = (r"(?<!\\)\{(?:[^{}\n]|\{[^{}\n]{0,200}\}){0,500}\}",)
TAG_LINE = re.compile(
    r"^[ \t]*</?[A-Za-z][\w.]*(?:[^<>{}]|=>|\{(?:[^{}]|\{(?:[^{}]|\{[^{}]{0,500}\}){0,1000}\}){0,2000}\}){0,2000}>[ \t]*$",
    re.MULTILINE,
)


def pattern(*, mdx: bool) -> re.Pattern[str]:
    kept = "|".join((*KEPT_PATTERNS, *(EXPRESSIONS if mdx else ())))
    return re.compile(rf"{CODE}|(?P<single>{'|'.join(SINGLE_PATTERNS)})|(?P<kept>{kept})", re.MULTILINE)


MARKDOWN, MDX = pattern(mdx=False), pattern(mdx=True)


def mask(text: str, *, mdx: bool) -> str:
    """The text with stand-ins for what is no text, character for character."""

    def replacement(match: re.Match[str]) -> str:
        if match["code"] is not None:
            return match[0]
        stand_in = KEPT if match["kept"] is not None else SINGLE
        return "".join(each if each == "\n" else stand_in for each in match[0])

    text = text.replace(KEPT, " ").replace(SINGLE, " ")
    return (MDX if mdx else MARKDOWN).sub(replacement, text)


def has_masked(text: str, *, mdx: bool) -> bool:
    """Whether a part of a text would be masked."""
    return (MDX if mdx else MARKDOWN).search(text) is not None
