"""CRT against numbers computed by hand."""

from hand_computed import close, fed

from heavybandits.algorithms.linear.crt import CRT


def test_crt() -> None:
    thetas, betas, _ = zip(*fed(CRT(eps=1.0, v=1.0), horizon=10), strict=True)
    close(thetas, [(0.25, 0.0), (0.25, 0.0), (0.4, 0.2), (-0.027777778, 0.277777778)], rtol=1e-7, atol=1e-9)
    close(betas, [8.618046400, 10.273316276, 11.398573874, 12.303773933], rtol=1e-8)
