ALTER TABLE experiment ADD COLUMN link TEXT;
ALTER TABLE experiment ADD COLUMN link_seq BIGINT NOT NULL DEFAULT 0;
ALTER TABLE event ADD COLUMN seal TEXT;
ALTER TABLE unit ADD COLUMN seal TEXT;
ALTER TABLE token ADD COLUMN seal TEXT;
CREATE INDEX pending_due ON pending (deadline);
DROP INDEX pending_deadline;
