
-- Nothing more: only sees to it that there is an epoch. Returns its id and whether it has just begun.
return {id, fresh}
