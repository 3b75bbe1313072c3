"""
The service and its page
========================

``heavybandits serve`` makes decisions over HTTP and has a page that shows what is going on.  Here each of 300 visitors
is shown one of three offers.  The curves are the shares of the offers so far.  After 200 visitors the page looked like
this:

.. image:: /images/dashboard.png
   :alt: The page of an experiment, with its arms, their means, and what rewards look like
"""

import subprocess
import sys
from tempfile import TemporaryDirectory

import matplotlib.pyplot as plt
import numpy as np

import heavybandits as hb

ORDERS = {"bargains": (0.30, 1.2), "classics": (0.25, 3.0), "luxury": (0.05, 1.2)}  # who orders, and how large
rng, shown = np.random.default_rng(0), []

with TemporaryDirectory() as folder:
    command = [sys.executable, "-um", "heavybandits", "serve", "--port", "0", "--db", f"sqlite:///{folder}/offers.db"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
        client = hb.Client(server.stdout.readline().split()[3])  # after "Page and API:"
        client.create("offers", list(ORDERS))
        for _ in range(300):
            decision = client.decide("offers")
            share, size = ORDERS[decision.arm]
            client.reward("offers", decision, float((rng.random() < share) * rng.lognormal(size, 0.5)))
            shown.append(decision.arm)
        client.close()
        server.terminate()

figure, axes = plt.subplots(figsize=(7.2, 3.4), layout="constrained")
for offer, colour in zip(ORDERS, ("#707a87", "#c2185b", "#b4bcc8"), strict=True):
    share = np.cumsum(np.equal(shown, offer)) / np.arange(1, 301)
    axes.plot(share, color=colour)
    axes.annotate(offer, (300, share[-1]), (5, 0), textcoords="offset points", color=colour, va="center")
axes.set(xlabel="visitors", xlim=(0, 350), ylim=(0, 1), title="Share of visitors who were shown each offer")
plt.show()
