"""From the port to a command: start and end, routes, WebSockets, and who may connect.

server        start and end          app         routes           auth    who may connect
websocket     commands and pushes    uploads     received files   connections   limits
terminal_socket   a terminal's keys and output
"""
