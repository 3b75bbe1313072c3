"""
The service and its page
========================

``heavybandits serve`` makes decisions over HTTP and has a page that shows what is going on.  Here each of 300 visitors
is shown one of three offers.  After 6,000, with a floor of 10%, the page looks like this:

.. image:: /images/dashboard.png
   :alt: The page of an experiment: a sentence, what was earned more than the control would have, and a bar for each arm
"""

import sys
from subprocess import DEVNULL, PIPE, Popen
from tempfile import TemporaryDirectory

import matplotlib.pyplot as plt
import numpy as np

import heavybandits as hb

ORDERS = {"bargains": (0.30, 1.2), "classics": (0.25, 3.0), "luxury": (0.05, 1.2)}  # who orders, and how large
SERVE = [sys.executable, "-um", "heavybandits", "serve", "--port", "0"]
rng, shown = np.random.default_rng(0), []
with TemporaryDirectory() as folder, Popen(SERVE, cwd=folder, stdout=PIPE, stderr=DEVNULL, text=True) as server:
    client = hb.Client(server.stdout.readline().split()[3])  # after "Page and API:"
    client.create("offers", list(ORDERS))
    for _ in range(300):
        shown.append(client.decide("offers"))
        share, size = ORDERS[shown[-1].arm]
        client.reward("offers", shown[-1], float((rng.random() < share) * rng.lognormal(size, 0.5)))
    client.close()
    server.terminate()
figure, axes = plt.subplots(figsize=(7.2, 3.4), layout="constrained")
for offer, colour in zip(ORDERS, ("#707a87", "#c2185b", "#b4bcc8"), strict=True):
    share = np.cumsum([decision.arm == offer for decision in shown]) / np.arange(1, 301)
    axes.plot(share, color=colour)
    axes.annotate(offer, (300, share[-1]), (5, 0), textcoords="offset points", color=colour, va="center")
axes.set(xlabel="visitors", xlim=(0, 350), ylim=(0, 1), title="Share of visitors who were shown each offer")
plt.show()
