
-- Gives back, then gives out.
--
-- KEYS[2..]  one hash a cell: e(poch), w(indow), g(ranted), and r<replica> = last sequence number
-- ARGV[3]    the replica
-- ARGV[4]    the draw's sequence number
-- ARGV[5..]  seven for each cell: seconds, allowed, want, newest window known, and what is given back:
--            window, epoch, tokens
-- Returns the epoch, whether it has just begun, and five for each cell: granted, window, microseconds
-- left of it, remaining, whether it is learning.

local step, replica, sequence = tonumber(ARGV[2]), 'r' .. ARGV[3], tonumber(ARGV[4])
local answer = {id, fresh}

for place = 2, #KEYS do
  local key, first = KEYS[place], 5 + (place - 2) * 7
  local length = tonumber(ARGV[first]) * 1000000
  local allowed, want = tonumber(ARGV[first + 1]), tonumber(ARGV[first + 2])
  local newest = tonumber(ARGV[first + 3])
  local left = length - latest % length
  local window = (latest + left) / length - 1

  local cell = redis.call('HMGET', key, 'e', 'w', 'g', replica)
  local granted, last = tonumber(cell[3]), tonumber(cell[4]) or 0
  if tonumber(cell[1]) ~= id or tonumber(cell[2]) ~= window then
    redis.call('DEL', key)
    redis.call('HSET', key, 'e', whole(id), 'w', whole(window), 'g', '0')
    granted, last = 0, 0
  end

  local learning = window * length < unknown_before
    or (newest > window and newest * length <= latest + step)
  local given = 0
  if sequence > last then
    redis.call('HSET', key, replica, ARGV[4])
    if tonumber(ARGV[first + 4]) == window and tonumber(ARGV[first + 5]) == id then
      granted = math.max(granted - tonumber(ARGV[first + 6]), 0)
    end
    local remaining = allowed - granted
    if remaining > 0 and not learning then
      local replicas = redis.call('HLEN', key) - 3
      given = math.min(want, math.max(math.floor(remaining / (2 * replicas)), 1))
      granted = granted + given
    end
    redis.call('HSET', key, 'g', whole(granted))
  end
  -- A clock that is set back stands still for a while; until then the counter must not be forgotten.
  redis.call('PEXPIRE', key, whole(math.ceil((left + step) / 1000) + 60000))

  answer[#answer + 1] = given
  answer[#answer + 1] = window
  answer[#answer + 1] = left
  answer[#answer + 1] = math.max(allowed - granted, 0)
  answer[#answer + 1] = learning and 1 or 0
end
return answer
