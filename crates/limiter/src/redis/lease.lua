
-- Takes back returned tokens, then grants the requested ones.
--
-- KEYS[2..]  one hash for each window counter: e(poch), w(indow), g(ranted), and r<replica> = last
-- sequence number
-- ARGV[3]    the replica
-- ARGV[4]    the request's sequence number
-- ARGV[5..]  seven for each counter: seconds, allowed, requested, newest window known, and the returned
--            tokens: window, epoch, number
-- Returns the epoch, 1 if it has just begun, and five for each counter: granted, window, microseconds
-- until its end, remaining, 1 if it is recovering.

local step, replica, sequence = tonumber(ARGV[2]), 'r' .. ARGV[3], tonumber(ARGV[4])
local answer = {id, fresh}

for index = 2, #KEYS do
  local key, first = KEYS[index], 5 + (index - 2) * 7
  local length = tonumber(ARGV[first]) * 1000000
  local allowed, requested = tonumber(ARGV[first + 1]), tonumber(ARGV[first + 2])
  local newest = tonumber(ARGV[first + 3])
  local left = length - latest % length
  local window = (latest + left) / length - 1

  local counter = redis.call('HMGET', key, 'e', 'w', 'g', replica)
  local granted, last = tonumber(counter[3]), tonumber(counter[4]) or 0
  if tonumber(counter[1]) ~= id or tonumber(counter[2]) ~= window then
    redis.call('DEL', key)
    redis.call('HSET', key, 'e', whole(id), 'w', whole(window), 'g', '0')
    granted, last = 0, 0
  end

  local recovering = window * length < unknown_before
    or (newest > window and newest * length <= latest + step)
  local given = 0
  if sequence > last then
    redis.call('HSET', key, replica, ARGV[4])
    if tonumber(ARGV[first + 4]) == window and tonumber(ARGV[first + 5]) == id then
      granted = math.max(granted - tonumber(ARGV[first + 6]), 0)
    end
    local remaining = allowed - granted
    if remaining > 0 and not recovering then
      local replicas = redis.call('HLEN', key) - 3
      given = math.min(requested, math.max(math.floor(remaining / (2 * replicas)), 1))
      granted = granted + given
    end
    redis.call('HSET', key, 'g', whole(granted))
  end
  -- While the clock is set back, time stands still; until then the counter must not expire.
  redis.call('PEXPIRE', key, whole(math.ceil((left + step) / 1000) + 60000))

  answer[#answer + 1] = given
  answer[#answer + 1] = window
  answer[#answer + 1] = left
  answer[#answer + 1] = math.max(allowed - granted, 0)
  answer[#answer + 1] = recovering and 1 or 0
end
return answer
