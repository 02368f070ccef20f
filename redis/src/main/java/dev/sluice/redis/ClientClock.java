package dev.sluice.redis;

import dev.sluice.store.TimeSource;

/**
 * A clock of this process, by which the script decides instead of the server's. Thread-safe.
 *
 * @param time the clock
 * @param slackMillis how much longer than its debt a bucket is kept, for clients that are behind
 * @param skewMillis how far the clocks of the clients may differ. A denied spend takes a TAT beyond
 *     now + τ for the work of a clock that stepped back, or of a limit that shrank, and puts it
 *     right. Of a clock that is merely ahead it would be the right one, and to put it back would
 *     give tokens away with each turn; so it stays where it is up to so much beyond.
 */
record ClientClock(TimeSource time, long slackMillis, long skewMillis) {}
