"""The handbook: what MkDocs adds to the pages of docs/ when it builds the site.

`hook` is what MkDocs calls. `outside` brings in the files outside docs/ to which pages link. Pages with
a line `<!-- generated: NAME -->` get the part of that name from `generated`.
"""
