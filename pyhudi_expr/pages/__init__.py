"""HTML pages of the commands and of the console: one self-contained file each, without scripts.

Jinja2's templates draw with HTML, CSS and SVG. That is preferred to an inlined chart library (0.1 to
4 MB of JavaScript), because a page then also works under a Content-Security-Policy that forbids
scripts, in a notebook that is not trusted and in an e-mail, and its texts are escaped in one place.
Marks are radio buttons, so the Tab and arrow keys reach them without a script.
"""
