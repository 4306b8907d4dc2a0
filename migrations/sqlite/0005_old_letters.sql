-- Removing an old item asks which dead letters it has told again: without this, of every row there is.
CREATE INDEX outbox_told_again ON outbox (told_again_by) WHERE told_again_by IS NOT NULL;
