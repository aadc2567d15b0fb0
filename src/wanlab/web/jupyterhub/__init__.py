"""wanlab in a JupyterHub, which starts its servers and knows its users. `wanlab web --jupyterhub`.

    browsers --> the hub's proxy --> a laboratory for each user

environment         what the hub tells the servers that it starts
hub_api             questions to the hub
sign_in             who is it? asks the hub by OAuth
laboratory_server   start and end of a laboratory

The protocol is that of JupyterHub's own `HubOAuth`; wanlab does not import JupyterHub.
"""
