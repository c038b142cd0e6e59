-- Marks the epoch's past as known, because no epoch preceded it. No effect if another epoch has begun.
--
-- KEYS[1]  the epoch's record
-- ARGV[1]  the epoch's id
if redis.call('HGET', KEYS[1], 'id') == ARGV[1] then
  redis.call('HSET', KEYS[1], 'unknown_before', '0')
end
return {}
