module consumer {
  requires dev.sluice.redis;
}
