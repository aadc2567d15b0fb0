"""A small key-value service whose client copes with a bad network.

A request and its answer are one line of JSON each:

    {"id": "7f3a-1", "do": "add", "key": "visits", "value": 1}
    {"id": "7f3a-1", "value": 42}

A client that gets no answer repeats the request with the same id, on a new connection. The server
performs each request once, and repeats its answer if it receives the request again.
"""
