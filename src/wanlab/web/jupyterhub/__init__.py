"""wanlab in a JupyterHub, which starts its servers and knows its users. `wanlab web --jupyterhub`.

    browsers --> the hub's proxy --> a laboratory for each user
                                 --> a class, as a service: the teacher's page
    each laboratory --WebSocket, hand-ins--> the class

environment     what the hub tells the servers that it starts    hub_api            questions to it
sign_in         who is it? asks the hub by OAuth                 laboratory_server  start and end
class_service   the class, seen from its service                 class_link   from a laboratory
byte_stream     a look, carried over a WebSocket

The protocol is that of JupyterHub's own `HubOAuth`; wanlab does not import JupyterHub.
"""
