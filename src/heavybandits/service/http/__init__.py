"""The interface: requests and answers over HTTP, who may send them, and the process that serves."""
