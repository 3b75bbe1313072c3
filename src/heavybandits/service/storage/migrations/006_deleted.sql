-- When an experiment was deleted: from then on nobody sees it, while its rows are removed little by little
ALTER TABLE experiment ADD COLUMN deleted BIGINT;
-- The largest id that an experiment has had, so that none is used twice
CREATE TABLE last_experiment (id BIGINT NOT NULL);
INSERT INTO last_experiment SELECT coalesce(max(id), 0) FROM experiment
