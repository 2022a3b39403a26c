# SPDX-License-Identifier: Apache-2.0
"""The servers of the benchmark: how each is started, what it listens on, how it is ended. Every process gets a group of its own
and is ended by that group's id, so nothing else on the machine is touched."""
import base64
import datetime
import hashlib
import hmac
import json
import os
import shutil
import signal
import socket
import subprocess
import time
import urllib.parse

HERE = os.path.dirname(os.path.abspath(__file__))
ACCOUNT = 'devstoreaccount1'
KEY = 'Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=='


def free_port():
    with socket.socket() as s:
        s.bind(('127.0.0.1', 0))
        return s.getsockname()[1]


def account_sas():
    expiry = (datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(hours=2)).strftime('%Y-%m-%dT%H:%M:%SZ')
    text = '\n'.join([ACCOUNT, 'rwdlacup', 'bqt', 'sco', '', expiry, '', '', '2021-06-08', '', ''])
    signature = base64.b64encode(hmac.new(base64.b64decode(KEY), text.encode(), hashlib.sha256).digest()).decode()
    return urllib.parse.urlencode({'sv': '2021-06-08', 'ss': 'bqt', 'srt': 'sco', 'sp': 'rwdlacup', 'se': expiry, 'sig': signature})


class Server:
    def __init__(self, owner, target, process, ports, folder):
        self.owner, self.target, self.process, self.ports, self.folder = owner, target, process, ports, folder
        self.pid = process.pid
        owner.running.append(self)

    def port(self, service):
        return self.ports.get(service) or self.ports.get('all')

    def rss_mib(self):
        with open('/proc/%d/status' % self.pid, encoding='ascii') as f:
            return next(int(line.split()[1]) for line in f if line.startswith('VmRSS:')) / 1024

    def cpu_ticks(self):
        """User and system time of the process so far, in hundredths of a second."""
        with open('/proc/%d/stat' % self.pid, encoding='ascii') as f:
            return sum(int(x) for x in f.read().rsplit(')', 1)[1].split()[11:13])

    def stop(self, keep=False):
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                os.killpg(self.process.pid, signal.SIGKILL)
                self.process.wait()
        if self in self.owner.running:
            self.owner.running.remove(self)
        if not keep and self.folder:
            shutil.rmtree(self.folder, ignore_errors=True)


class Peers:
    def __init__(self, temp, zaffre, tools):
        self.temp, self.zaffre_bin, self.tools = temp, zaffre, tools
        self.running = []
        self.count = 0

    def stop_all(self):
        for s in list(self.running):
            s.stop()

    def folder(self, name):
        self.count += 1
        path = os.path.join(self.temp, '%s-%d' % (name, self.count))
        os.mkdir(path)
        return path

    def spawn(self, args, folder, **more):
        with open(os.path.join(folder, 'output'), 'ab') as out:
            return subprocess.Popen(args, stdin=subprocess.DEVNULL, stdout=more.pop('stdout', out), stderr=out, start_new_session=True, **more)

    def wait_port(self, port, process, folder, patience=60):
        until = time.monotonic() + patience
        while time.monotonic() < until and process.poll() is None:
            try:
                socket.create_connection(('127.0.0.1', port), 0.2).close()
                return
            except OSError:
                time.sleep(0.02)
        with open(os.path.join(folder, 'output'), errors='replace') as f:
            raise RuntimeError('%s did not start: %s' % (os.path.basename(folder), f.read()[-500:]))

    def zaffre(self, log=False, again=None, smb=False):
        """Ours; `first_answer_ms` is from the start of the process to the first answered request of a service."""
        folder = again.folder if again else self.folder('zaffre')
        ports = {name: free_port() for name in ('blob', 'queue', 'table', 'file')}
        args = [self.zaffre_bin, 'serve', '--location', os.path.join(folder, 'data')]
        for name, port in ports.items():
            args += ['--%sPort' % name, str(port)]
        if smb:
            ports['smb'] = free_port()
            args += ['--smbPort', str(ports['smb']), '--create', 'share:bench']
        args += ['--accessLog', os.path.join(folder, 'access.log')] if log else ['--silent']
        request = ('GET /%s/bench/b00000000?%s HTTP/1.1\r\nHost: 127.0.0.1\r\nx-ms-version: 2021-06-08\r\nConnection: close\r\n\r\n' % (ACCOUNT, account_sas())).encode()
        began = time.monotonic()
        process = self.spawn(args, folder)
        server = Server(self, 'zaffre', process, ports, folder)
        while True:
            try:
                with socket.create_connection(('127.0.0.1', ports['blob']), 1) as s:
                    s.settimeout(10)
                    s.sendall(request)
                    status = s.recv(65536)[:12]
                if status not in (b'HTTP/1.1 200', b'HTTP/1.1 404'):
                    raise RuntimeError('first answer: %r' % status)
                break
            except ConnectionError:
                if process.poll() is not None or time.monotonic() - began > 60:
                    self.wait_port(ports['blob'], process, folder, 0)
                time.sleep(0.001)
        server.first_answer_ms = (time.monotonic() - began) * 1000
        return server

    def azurite(self):
        folder = self.folder('azurite')
        ports = {name: free_port() for name in ('blob', 'queue', 'table')}
        args = ['node', os.path.join(HERE, 'node_modules/azurite/dist/src/azurite.js'), '--silent', '--skipApiVersionCheck', '--disableTelemetry', '--location', folder]
        for name, port in ports.items():
            args += ['--%sPort' % name, str(port)]
        process = self.spawn(args, folder)
        server = Server(self, 'azurite', process, ports, folder)
        for port in ports.values():
            self.wait_port(port, process, folder)
        return server

    def nginx(self, small, large):
        """Static files, sendfile, as many workers as cores, no log."""
        folder = self.folder('nginx')
        port = free_port()
        web = os.path.join(folder, 'web', 'bench')
        os.makedirs(web)
        for i in range(small):
            with open(os.path.join(web, '%08d' % i), 'wb') as f:
                f.write(os.urandom(4096))
        for i in range(large):
            with open(os.path.join(web, 'large%08d' % i), 'wb') as f:
                f.write(os.urandom(64 << 20))
        with open(os.path.join(folder, 'nginx.conf'), 'w', encoding='ascii') as f:
            f.write('\n'.join([
                'user root;' if os.getuid() == 0 else '', 'daemon off;', 'worker_processes auto;', 'pid nginx.pid;', 'error_log stderr;',
                'events { worker_connections 1024; }',
                'http {', 'access_log off; sendfile on; tcp_nopush on; tcp_nodelay on; keepalive_requests 1000000000; keepalive_timeout 600;',
                'types {} default_type application/octet-stream;',
                *['%s_temp_path %s/%s;' % (t, folder, t) for t in ('client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi')],
                'server { listen 127.0.0.1:%d backlog=512; root %s/web; }' % (port, folder), '}', '']))
        program = shutil.which('nginx', path=os.environ['PATH'] + ':/usr/sbin')
        process = self.spawn([program, '-p', folder, '-c', 'nginx.conf', '-e', 'stderr'], folder)
        server = Server(self, 'nginx', process, {'all': port}, folder)
        self.wait_port(port, process, folder)
        return server

    def redis(self):
        folder = self.folder('redis')
        port = free_port()
        process = self.spawn(['redis-server', '--port', str(port), '--bind', '127.0.0.1', '--dir', folder, '--appendonly', 'yes', '--appendfsync', 'always',
                              '--save', '', '--daemonize', 'no'], folder)
        server = Server(self, 'redis', process, {'all': port}, folder)
        self.wait_port(port, process, folder)
        return server

    def postgres(self):
        """PostgreSQL as Debian ships it: synchronous_commit on, only memory and connections set; a unix socket."""
        folder = self.folder('postgres')
        versions = sorted(os.listdir('/usr/lib/postgresql'), key=float)
        programs = os.path.join('/usr/lib/postgresql', versions[-1], 'bin')
        data = os.path.join(folder, 'data')
        as_user = []
        if os.getuid() == 0:  # it refuses to run as root
            shutil.chown(folder, 'postgres')
            as_user = ['setpriv', '--reuid=postgres', '--regid=postgres', '--clear-groups']
        subprocess.run(as_user + [os.path.join(programs, 'initdb'), '-D', data, '-U', 'bench', '-A', 'trust', '-E', 'UTF8', '--locale=C'], check=True, cwd=folder,
                       stdout=subprocess.DEVNULL)
        port = free_port()
        process = self.spawn(as_user + [os.path.join(programs, 'postgres'), '-D', data, '-k', folder, '-h', '127.0.0.1', '-p', str(port), '-c', 'synchronous_commit=on',
                                        '-c', 'fsync=on', '-c', 'shared_buffers=256MB', '-c', 'max_connections=200', '-c', 'max_wal_size=4GB'], folder, cwd=folder)
        server = Server(self, 'postgres', process, {}, folder)
        self.wait_port(port, process, folder)
        server.connection_string = 'host=%s port=%d user=bench dbname=postgres' % (folder, port)
        table = ('CREATE TABLE entity (pk text NOT NULL, rk text NOT NULL, version bigint NOT NULL, name text, count int, ratio float8, done boolean, '
                 'due timestamptz, PRIMARY KEY (pk, rk))')
        for _ in range(100):  # the port opens a moment before it takes commands
            done = subprocess.run(['psql', '-q', '-v', 'ON_ERROR_STOP=1', '-d', server.connection_string, '-c', table], stderr=subprocess.PIPE, check=False)
            if done.returncode == 0:
                return server
            time.sleep(0.1)
        raise RuntimeError('PostgreSQL: %s' % done.stderr.decode()[-300:])

    def limit_http(self):
        folder = self.folder('limit')
        process = self.spawn([os.path.join(self.tools, 'limit_http'), folder, str(os.cpu_count())], folder, stdout=subprocess.PIPE, text=True)
        port = int(process.stdout.readline().split()[-1])
        return Server(self, 'limit', process, {'all': port}, folder)

    def limit_disk(self, work, size, many, seconds):
        folder = self.folder('disk')
        done = subprocess.run([os.path.join(self.tools, 'limit_disk'), folder, work, str(size), str(many), str(seconds)], stdout=subprocess.PIPE, check=True)
        shutil.rmtree(folder)
        return json.loads(done.stdout)

    def big_file(self, size, name='big'):
        path = os.path.join(self.temp, name)
        piece = os.urandom(64 << 20)
        with open(path, 'wb') as f:
            for i in range(size // len(piece)):
                f.write(i.to_bytes(8, 'big') + piece[8:])
        return path

    def azcopy(self, server, path):
        """Upload of one file; MB/s by the clock from start to end of the program."""
        folder = self.folder('azcopy')
        programs = os.path.join(HERE, 'node_modules/@azure-tools/azcopy-linux/dist/bin')
        program = os.path.join(programs, next(n for n in sorted(os.listdir(programs)) if n.startswith('azcopy')))
        url = 'http://127.0.0.1:%d/%s/bench/big?%s' % (server.port('blob'), ACCOUNT, account_sas())
        env = dict(os.environ, AZCOPY_LOG_LOCATION=folder, AZCOPY_JOB_PLAN_LOCATION=folder, AZCOPY_DISABLE_SYSLOG='true', AZCOPY_AUTO_LOGIN_TYPE='')
        began = time.monotonic()
        done = subprocess.run([program, 'copy', path, url, '--from-to=LocalBlob', '--check-version=false', '--log-level=NONE', '--put-md5=false', '--block-size-mb=4'],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=env, timeout=300, check=False, text=True)
        seconds = time.monotonic() - began
        shutil.rmtree(folder, ignore_errors=True)
        if done.returncode:
            raise RuntimeError('azcopy to %s: %s' % (server.target, done.stdout[-500:]))
        return {'rate': os.path.getsize(path) / seconds / 1e6, 'seconds': seconds}
