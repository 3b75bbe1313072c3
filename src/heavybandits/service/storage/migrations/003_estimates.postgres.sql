-- Without statistics the planner takes an experiment for a two-hundredth of the table, a new one too, and searches by key
ALTER TABLE event ALTER COLUMN exp SET STATISTICS 0;
ALTER TABLE pending ALTER COLUMN exp SET STATISTICS 0;
ALTER TABLE unit ALTER COLUMN exp SET STATISTICS 0;
