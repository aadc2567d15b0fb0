"""The laboratory in the browser: `wanlab web`.

protocol      what browser and server send each other      commands    what a browser can ask for
typescript    the protocol in TypeScript                   model       the document
laboratory    the shared state; carries out commands       app         routes
auth          who may connect                              broadcast   pushes to all browsers
session       the running network                          worker      the thread that owns it
pacer         when time passes in it                       folder      files that a browser may see
lessons       the course                                   canvas_steps  steps done in the editor
"""
