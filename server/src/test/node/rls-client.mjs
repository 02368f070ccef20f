// SPDX-License-Identifier: Apache-2.0
// Asks over gRPC as any Node program would: node rls-client.mjs HOST:PORT PROTOS < calls > answers.
// A call is a JSON line with a method and a message; an answer is the message, or {"error": code}.
import { createInterface } from 'node:readline';
import grpc from '@grpc/grpc-js';
import protoLoader from '@grpc/proto-loader';

const [address, protos] = process.argv.slice(2);
const definition = protoLoader.loadSync(
  ['envoy/service/ratelimit/v3/rls.proto', 'grpc/health/v1/health.proto'],
  { includeDirs: [protos], keepCase: true, longs: String, enums: String, bytes: String },
);
const types = grpc.loadPackageDefinition(definition);
const credentials = grpc.credentials.createInsecure();
const clients = {
  ShouldRateLimit: new types.envoy.service.ratelimit.v3.RateLimitService(address, credentials),
  Check: new types.grpc.health.v1.Health(address, credentials),
};

for await (const line of createInterface({ input: process.stdin })) {
  const { method, message, deadlineMillis } = JSON.parse(line);
  const options = deadlineMillis ? { deadline: Date.now() + deadlineMillis } : {};
  const answer = await new Promise((resolve) => {
    clients[method][method](message, options, (error, response) =>
      resolve(error ? { error: error.code, details: error.details } : response),
    );
  });
  console.log(JSON.stringify(answer));
}
Object.values(clients).forEach((client) => client.close());
