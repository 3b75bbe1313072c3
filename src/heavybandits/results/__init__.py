"""Results of simulations and studies: labelled arrays, summaries, figures, times to a target."""
