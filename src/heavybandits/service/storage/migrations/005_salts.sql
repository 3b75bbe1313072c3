-- The key of the hashes of units, which experiments from before do not have
ALTER TABLE experiment ADD COLUMN salt TEXT;
ALTER TABLE experiment ADD COLUMN seal TEXT;
