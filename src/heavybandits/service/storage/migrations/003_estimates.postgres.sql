-- Without statistics the planner assumes that any experiment, even a new one, is 1/200 of the table, and searches by key
ALTER TABLE event ALTER COLUMN exp SET STATISTICS 0;
ALTER TABLE pending ALTER COLUMN exp SET STATISTICS 0;
ALTER TABLE unit ALTER COLUMN exp SET STATISTICS 0;
