"""HTML pages of the commands and of the console: one self-contained file each, without scripts.

Jinja2's templates draw with HTML, CSS and SVG. An inlined chart library would add 0.1 to 4 MB of
JavaScript to each page, need a weaker Content-Security-Policy, and not run in every notebook; it
would bring nothing that these drawings need. Marks are radio buttons, so the Tab and arrow keys
reach them.
"""
