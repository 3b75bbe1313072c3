"""The colours of figures, pages and terminals."""

# Eight colours that stay apart for colour-blind readers (Okabe and Ito 2008), the pale yellow left out.
OKABE_ITO = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#999999")
