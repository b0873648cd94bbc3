"""Every reference of the book's pages leads to a file of it, and to a place on that page that is there.

    links.py BOOK
"""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

# Pages that are other pages once more, or stand for any.
NO_PAGES = {"404.html"}


class Page(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.places, self.references = set(), []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.places.add(attributes.get("id"))
        self.references += [attributes[name] for name in ("href", "src") if attributes.get(name)]


def wrong(file, page, pages):
    for reference in page.references:
        parts = urlsplit(reference)
        if parts.scheme:
            continue
        target = (file.parent / unquote(parts.path)).resolve() if parts.path else file
        if not target.exists():
            yield f"{file.name}: there is no {reference}"
        elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].places:
            yield f"{file.name}: there is no such place as {reference}"


def main(book):
    pages = {file.resolve(): Page(file.read_text()) for file in book.rglob("*.html") if file.name not in NO_PAGES}
    found = [one for file, page in pages.items() for one in wrong(file, page, pages)]
    if found or len(pages) < 20:
        sys.exit("\n".join(found) or f"only {len(pages)} pages")
    print(f"{len(pages)} pages, {sum(len(page.references) for page in pages.values())} references, all lead somewhere")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
