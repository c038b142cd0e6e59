-- Which epoch it is: one uninterrupted life of the memory in which the counters are.
--
-- KEYS[1]  the epoch's record: run, id, unknown_before, latest
-- ARGV[1]  the margin: how much later than its birth an epoch's past may still be unknown, microseconds
-- ARGV[2]  how far a clock may be back that is waited for, microseconds

local function whole(number)
  return string.format('%.0f', number)
end

local time = redis.call('TIME')
local clock = tonumber(time[1]) * 1000000 + tonumber(time[2])
local run = string.match(redis.call('INFO', 'server'), 'run_id:(%x+)')
local record = redis.call('HMGET', KEYS[1], 'run', 'id', 'unknown_before', 'latest')
local id, unknown_before = tonumber(record[2]), tonumber(record[3])
local latest, fresh = tonumber(record[4]), 0

if record[1] == run and latest <= clock + tonumber(ARGV[2]) then
  latest = math.max(latest, clock)
else
  fresh, latest = 1, clock
  id = math.max(clock, (id or -1) + 1)
  unknown_before = clock + tonumber(ARGV[1])
  redis.call('HSET', KEYS[1], 'run', run, 'id', whole(id), 'unknown_before', whole(unknown_before))
end
redis.call('HSET', KEYS[1], 'latest', whole(latest))
