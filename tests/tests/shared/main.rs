//! Several servers that share PostgreSQL and Redis: what holds of all of them together.

mod reaching_redis;
