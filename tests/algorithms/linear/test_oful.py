"""OFUL against numbers computed by hand."""

from hand_computed import close, fed

from heavybandits.algorithms.linear.oful import OFUL


def test_oful() -> None:
    thetas, betas, indices = zip(*fed(OFUL()), strict=True)
    expected = [(0.25, 0.0), (0.25, 4.0), (-0.24, 3.346666667), (-0.472222222, 3.388888889)]
    close(thetas, expected, rtol=1e-8, atol=1e-9)
    close(betas, [4.146980704, 4.255247261, 4.316941338, 4.371460063], rtol=1e-8)
    close(indices, [3.619687894, 0.808914194, 0.852538494, 0.314973195], rtol=1e-8)
