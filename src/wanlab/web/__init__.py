"""The lab in the browser: `wanlab web`.

protocol    what browser and server say to each other      typescript   the same, for the browser's side
laboratory  the truth: document, run, terminals, ...        app          routes
gate        who may come in                                 folder       what of the disk may be seen
"""
