
-- Only opens an epoch. Returns its id and 1 if it has just begun.
return {id, fresh}
