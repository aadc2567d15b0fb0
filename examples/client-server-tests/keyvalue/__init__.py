"""A small key-value service whose client copes with a bad network.

A request and its answer are a line of JSON each:

    {"id": "7f3a-1", "do": "add", "key": "visits", "value": 1}
    {"id": "7f3a-1", "value": 42}

A client that gets no answer asks again, on a new connection, under the same id: the server does each
request once, and answers a repeated one as before.
"""
