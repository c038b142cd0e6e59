-- Determines the epoch: one uninterrupted life of the memory that holds the counters.
--
-- KEYS[1]  the epoch's record: run, id, unknown_before, latest
-- ARGV[1]  the margin: time after the start of an epoch during which its past may be unknown,
-- microseconds
-- ARGV[2]  longest step of the clock backward that is waited for, microseconds

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
