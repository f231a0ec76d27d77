"""HTML: attributes that readers see are translated, and the language of the page is set."""

from qkv.documents import NewText, read_catalog

PAGE = """<!doctype html><html class=a lang="en" xml:lang='en'><head><title>Shop</title>
<meta name="description" content="A &quot;small&quot; shop"><meta name=keywords content="cat, dog"></head>
<body title="A &amp; B"><p lang=fr>See <img src=a.png alt='a cat'> and <a href="/x" title=more>this</a> <code title="no">x</code>.</p>
<img alt="" src=b.png><input placeholder="Your
  name" data-x=" title='no' "><textarea placeholder="Message">keep me</textarea>
<div translate="no" title="keep"><img alt="keep"></div><button aria-label="Close">×</button></body></html>
"""
TEXTS = [
    "Shop", 'A "small" shop', "A & B",
    "See <img src=a.png alt='a cat'> and <a href=\"/x\" title=more>this</a> {{0}}.",
    "a cat", "more", "Your name", "Message", "Close",
]  # fmt: skip


def test_attributes_that_readers_see_are_texts() -> None:
    document = read_catalog("html", PAGE.encode(), "de")
    assert [each.text for each in document.segments] == TEXTS
    assert document.write(TEXTS) == PAGE.encode()
    new = list(TEXTS)
    new[1], new[4], new[5] = 'Ein "kleiner" Laden', "Peter's <Katze>", 'mehr & "mehr"'
    new[3] = "{{0}} <a href=\"/x\" title=more>das</a> & <img src=a.png alt='a cat'>"
    swapped = document.write(new)
    assert document.compare is not None
    assert document.compare(swapped, [NewText(text) for text in new]) == [range(3, 4)]
    new[3] = "{{0}}: <img src=a.png alt='a cat'>, <a href=\"/x\" title=more>das</a>"
    written = document.write(new)
    assert not document.compare(written, [NewText(text) for text in new])
    assert written.decode() == PAGE.replace('"en"', '"de"').replace("'en'", "'de'").replace(
        "A &quot;small&quot; shop", "Ein &quot;kleiner&quot; Laden"
    ).replace(
        'See <img src=a.png alt=\'a cat\'> and <a href="/x" title=more>this</a> <code title="no">x</code>.',
        '<code title="no">x</code>: <img src=a.png alt=\'Peter&#39;s &lt;Katze>\'>, <a href="/x" title="mehr &amp; &quot;mehr&quot;">das</a>',
    )


def test_codes_may_change_places() -> None:
    document = read_catalog("html", b"<p>Use <code>a</code> and <code>b</code>.</p>")
    new = [NewText("{{1}} und {{0}} gehen.")]
    written = document.write(new)
    assert written == b"<p><code>b</code> und <code>a</code> gehen.</p>"
    assert document.compare is not None
    assert not document.compare(written, new)
