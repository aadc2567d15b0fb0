"""What browser and server send each other: data that a decoder checks, without any code.

messages   replies and pushes      commands   what a browser can ask for      model   the document
push       the base of all pushes  the others: the messages of one subject, named after its folder

`wanlab.web.typescript` writes all of them in TypeScript for the page.
"""
