// SPDX-License-Identifier: Apache-2.0
// An application on Express that says which handler a request reached, and what the handler saw. Prints its port.
import express from 'express';
import cookieParser from 'cookie-parser';
import methodOverride from 'method-override';

const app = express();
const seen = value => 'handler:' + encodeURIComponent(String(value));
// As its page recommends: the names that others use too.
for (const header of ['X-HTTP-Method', 'X-HTTP-Method-Override', 'X-Method-Override']) {
  app.use(methodOverride(header, { methods: ['POST', 'PUT'] }));
}
app.use(methodOverride('_method', { methods: ['POST'] }));
app.use(cookieParser());
app.set('query parser', 'extended');

app.post('/login', (request, answer) => answer.send(seen('login')));
app.delete('/login', (request, answer) => answer.send(seen('delete')));
app.get('/users/:user/x', (request, answer) => answer.send(seen(request.params.user)));
app.get('/cookie/:n', (request, answer) => answer.send(seen(request.cookies.s)));
app.get('/query/:n', (request, answer) => answer.send(seen(request.query.k)));
app.get('/token/:n', (request, answer) => {
  const [scheme, token] = (request.get('authorization') ?? '').trim().split(/\s+/);
  answer.send(seen(scheme.toLowerCase() === 'bearer' ? token : ''));
});
// What reads a URL as a base would.
app.use((request, answer) => {
  let path = '';
  try {
    path = new URL(request.url, 'http://shop.example').pathname;
  } catch {
    // not a URL
  }
  answer.send(request.method === 'POST' && path === '/login' ? seen('login') : 'nothing here');
});

const server = app.listen(0, '127.0.0.1', () => console.log(server.address().port));
